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
  %t28 = fcmp uno <16 x float> splat (float 0x0000000000000000), splat (float 0x0000000000000000)
  %t29 = select <16 x i1> %t28, <16 x float> splat (float 0x0000000000000000), <16 x float> %t27
  %t30 = fcmp ogt <16 x float> splat (float 0x0000000000000000), %t25
  %t31 = select <16 x i1> %t30, <16 x float> splat (float 0x0000000000000000), <16 x float> %t25
  %t32 = fcmp uno <16 x float> splat (float 0x0000000000000000), splat (float 0x0000000000000000)
  %t33 = select <16 x i1> %t32, <16 x float> splat (float 0x0000000000000000), <16 x float> %t31
  %t34 = fptrunc <16 x float> %t29 to <16 x bfloat>
  %t35 = fptrunc <16 x float> %t33 to <16 x bfloat>
  %t36 = getelementptr i16, ptr %t7, i64 %i0.loop4
  %t37 = bitcast <16 x bfloat> %t34 to <16 x i16>
  store <16 x i16> %t37, ptr %t36, align 2
  %t38 = getelementptr i16, ptr %t36, i64 16
  %t39 = bitcast <16 x bfloat> %t35 to <16 x i16>
  store <16 x i16> %t39, ptr %t38, align 2
  %i0.loop4.sum = add nuw nsw i64 %i0.loop4, 32
  %i0.loop4.next = call i64 asm "", "=r,0"(i64 %i0.loop4.sum)
  %i0.loop4.more = icmp slt i64 %i0.loop4.next, %t11
  br i1 %i0.loop4.more, label %loop4, label %after5
after5:
  br label %done3
done3:
  %t40 = icmp slt i64 %t11, %end
  br i1 %t40, label %some6, label %done7
some6:
  br label %loop8
loop8:
  %i0.loop8 = phi i64 [ %t11, %some6 ], [ %i0.loop8.next, %loop8 ]
  %t41 = sub i64 %end, %i0.loop8
  %t42 = call i64 @llvm.umin.i64(i64 %t41, i64 16)
  %t43 = trunc i64 %t42 to i32
  %t44 = insertelement <16 x i32> poison, i32 %t43, i64 0
  %t45 = shufflevector <16 x i32> %t44, <16 x i32> poison, <16 x i32> zeroinitializer
  %t46 = icmp ugt <16 x i32> %t45, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %t47 = getelementptr i16, ptr %t3, i64 %i0.loop8
  %t48 = call <16 x i16> @llvm.masked.load.v16i16.p0(ptr align 2 %t47, <16 x i1> %t46, <16 x i16> zeroinitializer)
  %t49 = bitcast <16 x i16> %t48 to <16 x bfloat>
  %t50 = fpext <16 x bfloat> %t49 to <16 x float>
  %t51 = fmul contract <16 x float> %t50, %t23
  %t52 = fcmp ogt <16 x float> splat (float 0x0000000000000000), %t51
  %t53 = select <16 x i1> %t52, <16 x float> splat (float 0x0000000000000000), <16 x float> %t51
  %t54 = fcmp uno <16 x float> splat (float 0x0000000000000000), splat (float 0x0000000000000000)
  %t55 = select <16 x i1> %t54, <16 x float> splat (float 0x0000000000000000), <16 x float> %t53
  %t56 = fptrunc <16 x float> %t55 to <16 x bfloat>
  %t57 = getelementptr i16, ptr %t7, i64 %i0.loop8
  %t58 = bitcast <16 x bfloat> %t56 to <16 x i16>
  call void @llvm.masked.store.v16i16.p0(<16 x i16> %t58, ptr align 2 %t57, <16 x i1> %t46)
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
