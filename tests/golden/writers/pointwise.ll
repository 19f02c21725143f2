define void @relu_scale(ptr %buffers, ptr %symbols, i64 %begin, i64 %end, ptr %error, ptr %scratch) #0 {
entry:
  %t0 = getelementptr i64, ptr %symbols, i64 0
  %t1 = load i64, ptr %t0, align 8
  %t2 = getelementptr ptr, ptr %buffers, i64 0
  %t3 = load ptr, ptr %t2, align 8
  %t4 = getelementptr ptr, ptr %buffers, i64 1
  %t5 = load ptr, ptr %t4, align 8
  %t6 = getelementptr ptr, ptr %buffers, i64 2
  %t7 = load ptr, ptr %t6, align 8
  %t8 = icmp slt i64 %begin, %end
  br i1 %t8, label %some0, label %done1
some0:
  %t21 = load float, ptr %t5, align 4
  %t22 = insertelement <16 x float> poison, float %t21, i64 0
  %t23 = shufflevector <16 x float> %t22, <16 x float> poison, <16 x i32> zeroinitializer
  %t9 = sub i64 %end, %begin
  %t10 = and i64 %t9, -32
  %t11 = add i64 %begin, %t10
  %t12 = icmp slt i64 %begin, %t11
  br i1 %t12, label %some2, label %done3
some2:
  br label %loop4
loop4:
  %i0.loop4 = phi i64 [ %begin, %some2 ], [ %i0.loop4.next, %loop4 ]
  %t13 = getelementptr i16, ptr %t3, i64 %i0.loop4
  %t14 = load <16 x i16>, ptr %t13, align 2
  %t15 = bitcast <16 x i16> %t14 to <16 x bfloat>
  %t16 = getelementptr i16, ptr %t13, i64 16
  %t17 = load <16 x i16>, ptr %t16, align 2
  %t18 = bitcast <16 x i16> %t17 to <16 x bfloat>
  %t19 = fpext <16 x bfloat> %t15 to <16 x float>
  %t20 = fpext <16 x bfloat> %t18 to <16 x float>
  %t24 = fmul contract <16 x float> %t19, %t23
  %t25 = fmul contract <16 x float> %t20, %t23
  %t26 = fcmp ogt <16 x float> splat (float 0x0000000000000000), %t24
  %t27 = select <16 x i1> %t26, <16 x float> splat (float 0x0000000000000000), <16 x float> %t24
  %t28 = fcmp ogt <16 x float> splat (float 0x0000000000000000), %t25
  %t29 = select <16 x i1> %t28, <16 x float> splat (float 0x0000000000000000), <16 x float> %t25
  %t30 = fptrunc <16 x float> %t27 to <16 x bfloat>
  %t31 = fptrunc <16 x float> %t29 to <16 x bfloat>
  %t32 = getelementptr i16, ptr %t7, i64 %i0.loop4
  %t33 = bitcast <16 x bfloat> %t30 to <16 x i16>
  store <16 x i16> %t33, ptr %t32, align 2
  %t34 = getelementptr i16, ptr %t32, i64 16
  %t35 = bitcast <16 x bfloat> %t31 to <16 x i16>
  store <16 x i16> %t35, ptr %t34, align 2
  %i0.loop4.sum = add nuw nsw i64 %i0.loop4, 32
  %i0.loop4.next = call i64 asm "", "=r,0"(i64 %i0.loop4.sum)
  %i0.loop4.more = icmp slt i64 %i0.loop4.next, %t11
  br i1 %i0.loop4.more, label %loop4, label %after5
after5:
  br label %done3
done3:
  %t36 = icmp slt i64 %t11, %end
  br i1 %t36, label %some6, label %done7
some6:
  br label %loop8
loop8:
  %i0.loop8 = phi i64 [ %t11, %some6 ], [ %i0.loop8.next, %loop8 ]
  %t37 = sub i64 %end, %i0.loop8
  %t38 = call i64 @llvm.umin.i64(i64 %t37, i64 16)
  %t39 = trunc i64 %t38 to i32
  %t40 = insertelement <16 x i32> poison, i32 %t39, i64 0
  %t41 = shufflevector <16 x i32> %t40, <16 x i32> poison, <16 x i32> zeroinitializer
  %t42 = icmp ugt <16 x i32> %t41, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %t43 = getelementptr i16, ptr %t3, i64 %i0.loop8
  %t44 = call <16 x i16> @llvm.masked.load.v16i16.p0(ptr align 2 %t43, <16 x i1> %t42, <16 x i16> zeroinitializer)
  %t45 = bitcast <16 x i16> %t44 to <16 x bfloat>
  %t46 = fpext <16 x bfloat> %t45 to <16 x float>
  %t47 = fmul contract <16 x float> %t46, %t23
  %t48 = fcmp ogt <16 x float> splat (float 0x0000000000000000), %t47
  %t49 = select <16 x i1> %t48, <16 x float> splat (float 0x0000000000000000), <16 x float> %t47
  %t50 = fptrunc <16 x float> %t49 to <16 x bfloat>
  %t51 = getelementptr i16, ptr %t7, i64 %i0.loop8
  %t52 = bitcast <16 x bfloat> %t50 to <16 x i16>
  call void @llvm.masked.store.v16i16.p0(<16 x i16> %t52, ptr align 2 %t51, <16 x i1> %t42)
  %i0.loop8.sum = add nuw nsw i64 %i0.loop8, 16
  %i0.loop8.next = call i64 asm "", "=r,0"(i64 %i0.loop8.sum)
  %i0.loop8.more = icmp slt i64 %i0.loop8.next, %end
  br i1 %i0.loop8.more, label %loop8, label %after9
after9:
  br label %done7
done7:
  br label %done1
done1:
  ret void
}

declare <16 x i16> @llvm.masked.load.v16i16.p0(ptr, <16 x i1>, <16 x i16>)
declare void @llvm.masked.store.v16i16.p0(<16 x i16>, ptr, <16 x i1>)
declare i64 @llvm.umin.i64(i64, i64)

attributes #0 = { nounwind }
